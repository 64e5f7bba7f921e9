/* The table of text mutators, one line each. C includes this file several times, with different
   definitions of the four macros; table.py reads the same lines.

   FT_REPLACE(name, from, to)                replace one occurrence of `from` by `to`
   FT_SPAN(name, open, close, to)            replace all from `open` to the next `close` by `to`
   FT_SWAP(name, open, middle, close)        swap the parts before and after `middle`
   FT_DUPLICATE(name, open, close)           repeat `open`...`close`; if both are equal, the copies
                                             share one, so that a line is followed by its copy and
                                             not by an empty line

   The order is that of the original tool (Groce et al., the "AFL compiler fuzzer": numbers 0 to
   63). A deletion keeps the delimiter before the deleted text: a deleted line does not join its
   neighbours, a deleted word does not join "static" and "int". If " " is a delimiter, the parts are
   words: more blanks and tabs before a word belong to the delimiter. From a newline to a blank is a
   line's first word; lines with fewer than two words have none.

   Names are parts of file names: [a-z0-9-]. New mutators are added at the end. */

FT_REPLACE("insert-if-false", "\n", "\nif (0==1)\n")
FT_REPLACE("insert-not", "(", "(!")

FT_REPLACE("eq-to-ne", "==", "!=")
FT_REPLACE("ne-to-eq", "!=", "==")
FT_REPLACE("eq-to-lt", "==", "<")
FT_REPLACE("lt-to-eq", "<", "==")
FT_REPLACE("eq-to-gt", "==", ">")
FT_REPLACE("gt-to-eq", ">", "==")

FT_REPLACE("assign-to-lt", "=", "<")
FT_REPLACE("assign-to-gt", "=", ">")
FT_REPLACE("lt-to-gt", "<", ">")
FT_REPLACE("gt-to-lt", ">", "<")

FT_REPLACE("inc-to-dec", "++", "--")
FT_REPLACE("dec-to-inc", "--", "++")

FT_REPLACE("add-to-mul", "+", "*")
FT_REPLACE("add-to-sub", "+", "-")
FT_REPLACE("add-to-div", "+", "/")
FT_REPLACE("add-to-mod", "+", "%")
FT_REPLACE("mul-to-add", "*", "+")
FT_REPLACE("mul-to-sub", "*", "-")
FT_REPLACE("mul-to-div", "*", "/")
FT_REPLACE("mul-to-mod", "*", "%")
FT_REPLACE("sub-to-add", "-", "+")
FT_REPLACE("sub-to-mul", "-", "*")
FT_REPLACE("sub-to-div", "-", "/")
FT_REPLACE("sub-to-mod", "-", "%")
FT_REPLACE("div-to-add", "/", "+")
FT_REPLACE("div-to-mul", "/", "*")
FT_REPLACE("div-to-sub", "/", "-")
FT_REPLACE("div-to-mod", "/", "%")
FT_REPLACE("mod-to-add", "%", "+")
FT_REPLACE("mod-to-mul", "%", "*")
FT_REPLACE("mod-to-sub", "%", "-")
FT_REPLACE("mod-to-div", "%", "/")

FT_REPLACE("insert-break", "\n", "\nbreak;\n")
FT_REPLACE("insert-continue", "\n", "\ncontinue;\n")
FT_REPLACE("zero-to-one", "0", "1")
FT_REPLACE("one-to-zero", "1", "0")
FT_REPLACE("if-to-while", "if", "while")
FT_REPLACE("while-to-if", "while", "if")
FT_REPLACE("insert-while-true", "\n", "\nwhile(1==1)\n")
FT_REPLACE("and-to-or", "&&", "||")
FT_REPLACE("or-to-and", "||", "&&")
FT_REPLACE("drop-not", "!", "")

FT_SPAN("delete-statement", ";", ";", ";")
FT_SPAN("delete-statement-after-block", "}", ";", "}")
FT_SPAN("delete-block", "{", "}", "")
FT_SPAN("empty-block", "{", "}", "{}")

FT_SWAP("swap-statements", ";", ";", ";")
FT_SWAP("swap-statements-after-block", "}", ";", ";")
FT_SWAP("swap-args", "(", ",", ")")
FT_SWAP("swap-args-first", "(", ",", ",")
FT_SWAP("swap-args-inner", ",", ",", ",")
FT_SWAP("swap-args-last", ",", ",", ")")

FT_SPAN("delete-line", "\n", "\n", "\n")
FT_SPAN("delete-word", " ", " ", " ")
FT_SPAN("delete-first-word-of-line", "\n", " ", "\n")
FT_SPAN("delete-first-word-in-parens", "(", " ", "(")

FT_SWAP("swap-words", " ", " ", " ")
FT_SWAP("swap-words-last", " ", " ", ")")
FT_SWAP("swap-words-first", "(", " ", " ")
FT_SWAP("swap-words-in-parens", "(", " ", ")")

FT_DUPLICATE("duplicate-line", "\n", "\n")
FT_DUPLICATE("duplicate-to-brace", "\n", "}")

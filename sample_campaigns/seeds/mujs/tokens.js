'use strict';
var KINDS = { number: /^\d+(?:\.\d*)?(?:[eE][-+]?\d+)?/, name: /^[a-z_$][\w$]*/i, space: /^\s+/ };
function tokens(text) {
    var found = [], match, kind;
    outer:
    while (text !== '') {
        for (kind in KINDS) {
            if ((match = KINDS[kind].exec(text)) !== null) {
                text = text.substring(match[0].length);
                if (kind != 'space') found.push({ kind: kind, text: match[0] });
                continue outer;
            }
        }
        switch (text.charAt(0)) {
        case '+': case '-':
        case '*': case '/':
            found.push({ kind: 'operator', text: text[0] });
            break;
        case '(':
            found.push({ kind: "open", text: "(" });
            break;
        default:
            throw new SyntaxError("unexpected " + text.charAt(0));
        }
        text = text.slice(1);
    }
    return found;
}

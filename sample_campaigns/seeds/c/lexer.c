enum kind { NUMBER = 1, WORD, SIGN = 'x', END = -1 };

typedef struct {
  enum kind kind;
  const char *at;
  unsigned n : 16, line : 15;
} token;

static int is_digit(int c) { return c >= '0' && c <= '9'; }

token next(const char **text) {
  token found = {END, *text, 0, 0};
again:
  switch (**text) {
    case '\0':
      return found;
    case ' ':
    case '\n':
      ++*text;
      goto again;
    default:
      break;
  }
  found.kind = is_digit(**text) ? NUMBER : SIGN;
  do {
    found.n++;
  } while (is_digit(*++*text) && found.kind == NUMBER);
  return found;
}

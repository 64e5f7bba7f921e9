#line 1 "bits.c"
unsigned crc(const unsigned char *at, unsigned n) {
  static unsigned table[256];
  if (!table[1]) {
    for (unsigned i = 0u; i < 256; i++) {
      unsigned c = i;
      for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
      table[i] = c;
    }
  }
  unsigned c = 0xffffffffu;
  while (n--) c = table[(c ^ *at++) & 0xff] ^ c >> 8;
  return c ^ 0xffffffffu;
}

int parity(unsigned long long x) {
  int odd = 0;
  do odd ^= (int)(x & 1ULL); while (x >>= 1);
  const char *words[] = {"even", "o" "dd", L"wide", u8"\x41\n\101"};
  return odd ? words[1][0] == 'o' : -(int)sizeof words / 2;
}

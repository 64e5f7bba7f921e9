var a = 0xff, b = 17 + .5, c = 1e3, d = 5.;
a |= 1 << 4; a &= ~0x0f; a ^= b; a <<= 2; a >>= 1; a >>>= 3;
b += c; b -= d; b *= 2; b /= 3; b %= 7;
function popcount(x) {
    x = x - ((x >>> 1) & 0x55555555);
    x = (x & 0x33333333) + ((x >>> 2) & 0x33333333);
    return ((x + (x >>> 4) & 0xf0f0f0f) * 0x1010101) >>> 24;
}
var same = a == b, not = a != b, is = a === c, isnt = a !== c;
var all = a < b && b <= c || c > d && !(d >= a), neg = -a + +b, inc = a++ + ++b - c-- - --d;
var last = (a, b, popcount(a ^ b));

local a, b <const>, c = 0xff, 3e-2, 0x.8p1
local d = 7 // 2 + 7 % 3 - 2 ^ 10 / -4
local bits = (a & 0x0f | 1 << 4 ~ 2) >> 1
local inv = ~a
local cmp = a < b and b <= c or not (c > d) and d >= a or a ~= b
local big = 9007199254740993 + 1e308 * 10
local s = a .. "" .. 1 .. 2
local function gcd(x, y) while y ~= 0 do x, y = y, x % y end return x end
return math.type(gcd(12, 18)), - -a, not not b, #"abc" + -#{ 1, 2 }, 2 ^ -3 ^ 2

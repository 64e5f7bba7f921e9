local Set = {}
local mt = {
  __or = 1,
  __index = function(t, k) return rawget(Set, k) end,
  __len = function(s) local n = 0; for _ in pairs(s) do n = n + 1 end; return n end,
  __call = function(s, x) return s[x] == true end,
  __bor = function(a, b) local r = Set.new {}; for k in pairs(a) do r[k] = true end
    for k in pairs(b) do r[k] = true end; return r end,
  __eq = function(a, b) return a <= b and b <= a end,
  __le = function(a, b) for k in pairs(a) do if not b[k] then return false end end return true end,
}
function Set.new(l) local s = setmetatable({}, mt); for i = 1, #l do s[l[i]] = true end; return s end
function Set.util.text.join(a, ...) return a end
print(#(Set.new { 1, 2 } | Set.new { 3 }), Set.new { 1 } == Set.new { 1 }, (Set.new { "x" })("x"))

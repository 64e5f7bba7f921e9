local function resource(name)
  return setmetatable({}, { __close = function(_, e) print(name, e) end })
end
do
  local a <close> = resource "a"
  local n <const> = 5
  local ok, err = pcall(function()
    local b <close> = resource 'b'
    if n > 3 then error({ code = n }) end
    return n
  end)
  print(ok, type(err) == "table" and err.code or err)
end
for _, v in next, { 10, 20 }, nil, resource("loop") do local x = v; (function() x = x + 1 end)() end

local function pack(...)
  local n, first = select("#", ...), (...)
  return { n = n, first = first, ... }
end
local function curry(f, ...)
  local args = { ... }
  return function(...)
    local all = { table.unpack(args) }
    for _, v in ipairs { ... } do all[#all + 1] = v end
    return f(table.unpack(all))
  end
end
local t = pack(pack(1, 2), curry(math.max, 3)(4, 5), (pack()))
t.x, t.y, t[1].n = 1, t, nil
return t, ...

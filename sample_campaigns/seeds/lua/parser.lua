local ops = { ["+"] = 1, ["-"] = 1, ["*"] = 2, ["/"] = 2, ["^"] = 3 }
local function parse(text)
  local pos = 1
  local function peek() return text:match("^%s*(%S)", pos) end
  local function take(pattern)
    local s, e, c = text:find("^%s*(" .. pattern .. ")", pos)
    if s then pos = e + 1 end
    return c
  end
  local expr
  local function atom()
    if take "%(" then local e = expr(0); assert(take "%)", "')' expected"); return e end
    return tonumber(take "%d+%.?%d*") or { var = take "%a%w*" or error("at " .. pos) }
  end
  function expr(least)
    local left = atom()
    while true do
      local op = peek()
      local prec = ops[op]
      if not prec or prec < least then return left end
      take("%" .. op)
      left = { op = op, left, expr(prec + (op == "^" and 0 or 1)) }
    end
  end
  return expr(0)
end
return parse "1 + x * (2 - 3) ^ 2"

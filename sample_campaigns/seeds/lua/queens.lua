local N = 8
local function ok(a, n, c)
  for i = 1, n - 1 do
    if a[i] == c or a[i] - i == c - n or a[i] + i == c + n then return false end
  end
  return true
end
local found = 0
local function place(a, n)
  if n > N then
    found = found + 1
    if found == 1 then print(table.concat(a, " ")) end
  else
    for c = 1, N do
      if ok(a, n, c) then
        a[n] = c
        place(a, n + 1)
      end
    end
  end
end
place({}, 1)
return found

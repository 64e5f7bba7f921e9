local s = 'it\'s \x41 \u{20AC} \065 \z
           one line'
local long = [[
first
second ]] .. [==[ with ]] inside ]==]
--[[ a comment
of lines ]]
--[=[ and ]] another ]=]
local words = {}
for w in (s .. long):gmatch("%a+") do words[#words + 1] = w:lower() end
local n = select("#", table.unpack(words))
print(#s, n, long:sub(1, -2), s:gsub("%s+", function(x) return #x > 1 and "_" or nil end))

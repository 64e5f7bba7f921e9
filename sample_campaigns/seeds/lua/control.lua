for i = 10, 1, -3 do
  local j = i
  repeat
    local half = j // 2
    if half % 2 == 0 then goto continue elseif half > 4 then break else j = half - 1 end
    j = j - 1
    ::continue::
    j = j - 1
  until j < 0 or half == 1
end
do local x; local y, z = 1; x = y end
for k, v in pairs({ a = 1, ["b c"] = 2, 3; 4, [5] = { 6, }, f = function() end }) do
  while v do if k then break end end
end
goto done
do print "skipped" end
::done:: ;;

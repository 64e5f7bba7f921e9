i, (j, *k) = 0, [1, 2, 3]
until i >= 5
  i += 1
  redo if i == 3 && !j
  break unless i != 4
end
for a in 1...4 do p a, ->(x, y = 2) { x <=> y } end

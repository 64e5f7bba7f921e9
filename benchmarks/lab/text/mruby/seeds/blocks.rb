list = [3, 1, 2].map { |x| x * 2 }.select do |y|
  next false unless y > 2
  y.even? and not y == 8
end
list.each_with_index { |(a, b), i| print a, i }

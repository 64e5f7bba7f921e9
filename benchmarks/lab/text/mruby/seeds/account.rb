class Account
  attr_reader :sum
  def initialize(sum = 0) @sum = sum end
  def add(n)
    raise ArgumentError, "negative: #{n}" if n < 0
    @sum += n
    self
  end
end
puts Account.new(3).add(4).sum

module Shape
  PI = 3.14_15
  def self.area(r:, **rest) = PI * r ** 2
  class << self
    alias size area
    private def hidden; defined?(@@x) || super; end
  end
end

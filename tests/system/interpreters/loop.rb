def fib(n) n < 2 ? n : fib(n - 1) + fib(n - 2) end
class A
  attr_reader :x
  def initialize(x) @x = x end
  def +(o) x + o.x end
  def method_missing(n, *a) "#{n}!" end
end
list = (0...50).map { |i| i * 37 % 50 }
sorted = list.sort { |a, b| a <=> b }
sum = 0
sorted.each_slice(3) { |a, *b| sum += a + b.size }
kind = case sum when 1..3 then "few" when Integer then "many" end
puts [fib(12), A.new(1) + A.new(2), A.new(3).nothing, sum, kind, "abc".gsub(/b/) { |c| c.upcase }, list.inject { |a, b| a + b }].join(" ")

def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def numbers(n):
    for i in range(n): yield i
class A:
    def __init__(self, x): self.x = x
    def __add__(self, o): return self.x + o.x
    def __getattr__(self, n): return n + "!"
import functools
listed = sorted((i * 37 % 50 for i in range(50)), key=lambda x: -x)
print(fib(12), sum(numbers(20)), A(1) + A(2), A(3).nothing, functools.reduce(lambda a, b: a + b, listed), {k: v for k, v in zip("ab", map(str, listed))})

function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
function* numbers(n) { for (let i = 0; i < n; i++) yield i }
class A { constructor(x) { this.x = x } get y() { return this.x * 2 } static make(x) { return new A(x) } }
let list = []; for (let i = 0; i < 50; i++) list.push(i * 37 % 50);
list.sort((a, b) => a - b);
let sum = 0; for (const n of numbers(20)) sum += n;
switch (sum) { case 1: sum++; break; case 190: sum += 5; break; default: sum = 0 }
let o = { valueOf() { return 3 }, ...{ a: 1 } };
(async () => { await null; console.log("later", await Promise.resolve(4)) })();
console.log(fib(12), sum, A.make(4).y, list.map(x => x + 1).reduce((a, b) => a + b), o * 2, "abc".replace(/\w/g, c => c.toUpperCase()), ((...a) => a.length)(...list));

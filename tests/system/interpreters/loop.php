<?php
function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }
function numbers($n) { for ($i = 0; $i < $n; $i++) yield $i; }
class A { public $x; function __construct($x) { $this->x = $x; } function __get($n) { return $n . "!"; } static function make($x) { return new A($x); } }
$list = []; for ($i = 0; $i < 50; $i++) $list[] = $i * 37 % 50;
usort($list, function ($a, $b) { return $a - $b; });
$sum = 0; foreach (numbers(20) as $n) $sum += $n;
switch ($sum) { case 1: $sum++; break; case 190: $sum += 5; break; default: $sum = 0; }
$s = match (true) { $sum > 3 => "more", default => "less" };
echo fib(12), " ", $sum, " ", A::make(4)->y, " ", array_sum(array_map(fn($x) => $x + 1, $list)), " ", $s, " ", preg_replace_callback("/\\w/", fn($m) => strtoupper($m[0]), "abc"), "\n";

sub fib { my $n = shift; $n < 2 ? $n : fib($n - 1) + fib($n - 2) }
package A; use overload '+' => sub { $_[0]{x} + $_[1]{x} }; sub new { bless { x => $_[1] }, $_[0] } sub AUTOLOAD { our $AUTOLOAD; return "$AUTOLOAD!" } sub DESTROY {}
package main;
my @list = map { $_ * 37 % 50 } 0..49;
my @sorted = sort { $a <=> $b } @list;
my $s = "abc"; $s =~ s/(\w)/uc $1/ge;
my $t = eval { 4 } + eval "5";
print fib(12), " ", A->new(1) + A->new(2), " ", A->new(3)->nothing, " $s $t @sorted[0..3]\n";

/*
 * After clear, an aggregation counts from zero.
 * @flags: -q -x switchrate=1ms -x aggrate=1ms
 */
int n;

tick-20ms { n++; }
tick-20ms / n == 1 / { @["a"] = sum(5); printa("%s %@d\n", @); clear(@); }
tick-20ms / n == 20 / { @["a"] = sum(3); }
tick-20ms / n == 40 / { printa("%s %@d\n", @); exit(0); }

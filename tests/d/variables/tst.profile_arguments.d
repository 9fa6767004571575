/*
 * In a tick probe, exactly one of arg0 and arg1 is not zero.
 * @flags: -q
 */
tick-1ms { printf("%d\n", (arg0 != 0) ^^ (arg1 != 0)); exit(0); }

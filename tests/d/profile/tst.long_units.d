/*
 * The interval of a tick probe can be in seconds, minutes, hours or days.
 * @flags: -q
 */
tick-1s, tick-1sec, tick-2m, tick-2min, tick-1h, tick-1hour, tick-1d, tick-1day { x = 1; }
BEGIN { printf("on\n"); exit(0); }

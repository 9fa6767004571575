/*
 * A rate may have a unit; without a unit, it is in hertz.
 * @flags: -q
 */
#pragma D option switchrate=10hz
#pragma D option aggrate=100ms
#pragma D option statusrate=1s
#pragma D option cleanrate=50
#pragma D option switchrate=5msec
BEGIN { printf("on\n"); exit(0); }

/* maxframes=0 would be no stack at all. */
#pragma D option maxframes=0
BEGIN { exit(0); }

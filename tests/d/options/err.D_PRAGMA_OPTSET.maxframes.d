/* maxframes must not be 0, because stacks would have no frames. */
#pragma D option maxframes=0
BEGIN { exit(0); }

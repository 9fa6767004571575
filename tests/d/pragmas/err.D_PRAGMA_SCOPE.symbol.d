/* The attributes of a symbol of another scope are not set. */
#pragma D attributes Stable/Stable/Common libc`x
BEGIN { exit(0); }

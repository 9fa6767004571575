/* #pragma D attributes refuses a symbol in another scope. */
#pragma D attributes Stable/Stable/Common libc`x
BEGIN { exit(0); }

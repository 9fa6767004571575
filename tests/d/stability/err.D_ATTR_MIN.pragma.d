/* #pragma D option amin applies wherever it is in the program. */
BEGIN { trace(htons(1)); exit(0); }
#pragma D option amin=Stable/Stable/Common

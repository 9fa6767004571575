/* #pragma D option amin works wherever it stands. */
BEGIN { trace(htons(1)); exit(0); }
#pragma D option amin=Stable/Stable/Common

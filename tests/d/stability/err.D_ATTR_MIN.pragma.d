/* #pragma D option amin also applies to clauses before it. */
BEGIN { trace(htons(1)); exit(0); }
#pragma D option amin=Stable/Stable/Common

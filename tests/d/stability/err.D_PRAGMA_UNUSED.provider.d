/* #pragma D attributes must name a provider that exists. */
#pragma D attributes Private/Private/Unknown provider nosuch name
BEGIN { exit(0); }

/* #pragma D attributes needs a declaration of the provider in the program. */
#pragma D attributes Private/Private/Unknown provider dtrace name
BEGIN { exit(0); }

/* #pragma D attributes cannot change the attributes of D's own names. */
#pragma D attributes Private/Private/Unknown pid
BEGIN { exit(0); }

/* A provider that the program does not describe keeps its attributes. */
#pragma D attributes Private/Private/Unknown provider dtrace name
BEGIN { exit(0); }

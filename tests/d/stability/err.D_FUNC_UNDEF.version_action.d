/* An action that is newer than the version option is undefined. */
#pragma D option version=1.8.1
BEGIN { print(1); exit(0); }

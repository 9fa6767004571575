/* An action of a later version does not exist. */
#pragma D option version=1.8.1
BEGIN { print(1); exit(0); }

/* A tick below 200 microseconds is refused. */
tick-100us { exit(0); }

/* A tick interval of less than 200 microseconds is refused. */
tick-100us { exit(0); }

struct timespec { char seconds; char nanoseconds; };

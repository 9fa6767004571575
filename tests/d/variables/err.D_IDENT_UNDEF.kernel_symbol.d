/* A symbol of the kernel is not known. */
BEGIN { trace(`jiffies); }

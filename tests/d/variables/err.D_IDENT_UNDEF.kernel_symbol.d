/* Without the kernel module, a symbol of the kernel is unknown. */
BEGIN { trace(`jiffies); }

// SPDX-License-Identifier: MIT
// Rounds SUM: prints "round N SUM" again and again, until its stdin ends. In each round,
// four threads allocate, fill maps, throw and catch exceptions, and so compute SUM. If a
// round computes another number, the program prints it and exits with status 1.
import java.util.HashMap;
import java.util.Map;

public class Rounds {
    static volatile boolean ends;

    static long mix(long value) {
        value ^= value >>> 33;
        value *= 0xff51afd7ed558ccdL;
        return value ^ value >>> 29;
    }

    static long work(long seed) {
        Map<Long, StringBuilder> words = new HashMap<>();
        long sum = seed;
        for (int i = 0; i < 4000; i++) {
            sum = mix(sum + i);
            words.computeIfAbsent(sum & 255, key -> new StringBuilder()).append((char) ('a' + (sum & 15)));
            try {
                if ((sum & 63) == 3)
                    throw new IllegalStateException(Long.toString(sum));
            } catch (IllegalStateException thrown) {
                sum += Long.parseLong(thrown.getMessage());
            }
            sum += new byte[(int) (sum & 4095)].length;
        }
        for (long key = 0; key < 256; key++)
            sum = mix(sum + (words.containsKey(key) ? words.get(key).toString().hashCode() : 0));
        return sum;
    }

    public static void main(String[] arguments) throws Exception {
        Thread reader = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                }
            } catch (java.io.IOException ended) {
            }
            ends = true;
        });
        reader.setDaemon(true);
        reader.start();
        for (int n = 0; !ends; n++) {
            long[] sums = new long[4];
            Thread[] threads = new Thread[4];
            for (int i = 0; i < threads.length; i++) {
                int index = i;
                threads[i] = new Thread(() -> sums[index] = work(index));
                threads[i].start();
            }
            for (Thread thread : threads)
                thread.join();
            String sum = String.format("%016x", mix(sums[0] ^ sums[1]) ^ mix(sums[2] + sums[3]));
            System.out.printf("round %d %s%n", n, sum);
            if (arguments.length > 0 && !sum.equals(arguments[0]))
                System.exit(1);
        }
    }
}

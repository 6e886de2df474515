import java.nio.file.*;
import java.security.SecureRandom;
import java.util.*;
import java.util.concurrent.Callable;

/** Prints what Java finds in each source, one `name TAB value` a line. Run by what is recorded. */
public class Probe {
    static void tell(String name, Callable<?> value) {
        String found;
        try { found = String.valueOf(value.call()); } catch (Exception error) { found = "ERROR " + error; }
        System.out.println(name + "\t" + found.replace('\n', ' ').replace('\t', ' '));
    }

    static String read(String path, int count) throws Exception {
        try (var in = new java.io.FileInputStream(path)) { return HexFormat.of().formatHex(in.readNBytes(count)); }
    }

    public static void main(String[] words) throws Exception {
        tell("wall", System::currentTimeMillis);
        tell("wall.now", java.time.Instant::now);
        tell("wall.date", () -> new Date().toString());
        tell("monotonic", System::nanoTime);
        tell("sleep", () -> {
            long before = System.currentTimeMillis();
            Thread.sleep(1100);
            long after = System.currentTimeMillis();
            return (after - before >= 1000 && after - before < 30000) + " " + after;
        });
        tell("chance", () -> Math.random() + " " + new Random().nextLong());
        tell("chance.secure", () -> new SecureRandom().nextLong() + " " + SecureRandom.getInstance("NativePRNG").nextLong());
        tell("chance.strong", () -> SecureRandom.getInstanceStrong().nextLong());
        tell("uuid4", UUID::randomUUID);
        tell("chance.threads", () -> java.util.concurrent.ThreadLocalRandom.current().nextLong());
        tell("set order", () -> Set.of("a", "b", "c", "d", "e", "f", "g", "h").toString());
        tell("id", () -> System.identityHashCode(new Object()));
        tell("pid", () -> ProcessHandle.current().pid());
        tell("user", () -> System.getProperty("user.name") + System.getProperty("user.home") + System.getProperty("user.dir"));
        tell("host", () -> java.net.InetAddress.getLocalHost().getHostName());
        tell("folder", () -> {
            var many = Files.createDirectory(Path.of("many"));
            var random = new SecureRandom();
            for (int number = 0; number < 60; number++) Files.createFile(many.resolve(Integer.toHexString(random.nextInt()) + "-" + number));
            var found = new ArrayList<String>();
            for (var name : many.toFile().list()) found.add(name.split("-")[1]);
            return found;
        });
        tell("file times", () -> Files.getLastModifiedTime(Files.createFile(Path.of("made"))));
        tell("names", () -> Files.createTempFile("a", "b").getFileName());
        tell("locale", () -> Locale.getDefault() + String.format("%.1f", 1.5));
        tell("zone", () -> TimeZone.getDefault().getID());
        tell("environment", () -> new TreeMap<>(System.getenv()));
        tell("cpus", () -> Runtime.getRuntime().availableProcessors());
        tell("/dev/random", () -> read("/dev/random", 16));
        tell("/dev/urandom", () -> read("/dev/urandom", 16));
        tell("proc uuid", () -> read("/proc/sys/kernel/random/uuid", 36));
        tell("boot_id", () -> read("/proc/sys/kernel/random/boot_id", 36));
        tell("machine-id", () -> read("/etc/machine-id", 32));
    }
}

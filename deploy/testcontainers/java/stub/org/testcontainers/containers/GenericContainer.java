package org.testcontainers.containers;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.testcontainers.containers.wait.strategy.WaitStrategy;
import org.testcontainers.utility.DockerImageName;

/**
 * A stub with the methods that PunchcardContainer calls, for tests where neither Testcontainers nor a container engine is at hand. It
 * is not Testcontainers: in place of a container it starts the program that the variable PUNCHCARD names, with the container's command,
 * on a free port of loopback. The tests with the real classes are run by "mvn test".
 */
public class GenericContainer<SELF extends GenericContainer<SELF>> implements AutoCloseable {
    private String[] command = {};
    private Process process;
    private Path folder;
    private String logs = "";
    private WaitStrategy wait;

    public GenericContainer(DockerImageName image) {}

    @SuppressWarnings("unchecked")
    private SELF self() {
        return (SELF) this;
    }

    public SELF withExposedPorts(Integer... ports) {
        return self();
    }

    public SELF withTmpFs(Map<String, String> mapping) {
        return self();
    }

    public SELF withAccessToHost(boolean value) {
        return self();
    }

    public SELF withCommand(String... parts) {
        command = parts;
        return self();
    }

    public SELF waitingFor(WaitStrategy strategy) {
        wait = strategy;
        return self();
    }

    protected void configure() {}

    public String getHost() {
        return "127.0.0.1";
    }

    public String getLogs() {
        return logs;
    }

    public Integer getMappedPort(int port) {
        Matcher origin = Pattern.compile("\"origin\":\"http://127.0.0.1:(\\d+)\"").matcher(logs);
        if (!origin.find()) {
            throw new IllegalStateException("Mapped port can only be obtained after the container is started");
        }
        return Integer.valueOf(origin.group(1));
    }

    public void start() {
        configure();
        if (!String.join(" ", command).contains("--allow-host " + getHost())) { // which need not be loopback in reality
            throw new IllegalStateException("The command does not allow the host of the tests: " + String.join(" ", command));
        }
        try {
            folder = Files.createTempDirectory("punchcard");
            String[] words = new String[command.length + 2];
            words[0] = System.getenv("PUNCHCARD");
            for (int i = 0; i < command.length; i++) {
                words[i + 1] = command[i].replace("0.0.0.0:8080", "127.0.0.1:0").replace("/tmp/", folder + File.separator);
            }
            words[words.length - 1] = "--exit-with-stdin";
            process = new ProcessBuilder(words).redirectErrorStream(true).start();
            BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                logs += line + "\n";
                if (Pattern.matches(wait.regEx(), line + "\n")) {
                    return;
                }
            }
        } catch (IOException e) {
            throw new RuntimeException(e);
        }
        throw new IllegalStateException("Container startup failed: " + logs);
    }

    @Override
    public void close() {
        try {
            process.getOutputStream().close();
            process.waitFor();
            try (var files = Files.list(folder)) {
                for (Path file : files.toList()) {
                    Files.delete(file);
                }
            }
            Files.delete(folder);
        } catch (IOException | InterruptedException e) {
            throw new RuntimeException(e);
        }
    }
}

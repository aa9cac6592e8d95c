package com.example.punchcard;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.testcontainers.Testcontainers;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/**
 * A punchcard server in a container, as a fixture for tests: a real loyalty API with a demo shop, a clock that the test moves, signed
 * webhooks and faults.
 */
public class PunchcardContainer extends GenericContainer<PunchcardContainer> {
    private static final int PORT = 8080;
    private static final Pattern READY = Pattern.compile("\\{.*\"api_key\":.*\\}");

    private final List<String> flags = new ArrayList<>();
    private String ready; // null before it was asked for

    public PunchcardContainer(DockerImageName image) {
        super(image);
        withExposedPorts(PORT);
        withTmpFs(Map.of("/tmp", "rw,mode=1777"));
        waitingFor(Wait.forLogMessage(".*\"api_key\":.*\\n", 1)); // the server listens before it prints this line
    }

    /** Adds flags of "punchcard dev", such as "--clock", "2026-03-01T09:00:00Z". */
    public PunchcardContainer withFlags(String... more) {
        flags.addAll(List.of(more));
        return this;
    }

    /** Has the server answer requests to a host too, such as the alias by which other containers of its network reach it. */
    public PunchcardContainer withAllowedHost(String host) {
        return withFlags("--allow-host", host);
    }

    /** Lets webhooks reach programs on the machine of the tests, at http://host.testcontainers.internal with one of the ports. */
    public PunchcardContainer withHostPorts(int... ports) {
        Testcontainers.exposeHostPorts(ports);
        withAccessToHost(true);
        return withFlags("--webhook-allow-http", "--webhook-allow-cidr", "10.0.0.0/8,172.16.0.0/12,192.168.0.0/16");
    }

    /** Sets the command. The server answers only to loopback and to hosts that are allowed, here the one by which tests reach it. */
    @Override
    protected void configure() {
        List<String> command = new ArrayList<>(List.of("dev", "--listen", "0.0.0.0:" + PORT, "--allow-remote"));
        command.addAll(List.of("--db", "/tmp/fixture.db", "--allow-host", getHost()));
        command.addAll(flags);
        withCommand(command.toArray(new String[0]));
    }

    /** Returns http://HOST:PORT as tests reach it. The control API is below /dev. */
    public String origin() {
        return "http://" + getHost() + ":" + getMappedPort(PORT);
    }

    /** Returns the URL of the REST API. */
    public String url() {
        return origin() + "/api/public/v1";
    }

    /** Returns the URL of the till API. */
    public String tillUrl() {
        return origin() + "/till/v1";
    }

    /** Returns a key with every scope, the same at each start. */
    public String apiKey() {
        return value("api_key");
    }

    /** Returns the token of a till at the first location. */
    public String tillToken() {
        return value("till_token");
    }

    /** Returns the id of the demo shop's program of a type: standard, private, discount, access, prepaid. */
    public String program(String type) {
        return value(type);
    }

    /** Returns the ids of the demo shop's locations. */
    public List<String> locations() {
        Matcher list = Pattern.compile("\"location_ids\":\\[([^\\]]*)\\]").matcher(ready());
        if (!list.find()) {
            throw new IllegalStateException("the ready line has no location_ids");
        }
        return List.of(list.group(1).replace("\"", "").split(","));
    }

    /** Returns a text of the ready line, such as restricted_api_key, mcp_key, shop_id, owner_email or owner_password. */
    public String value(String name) {
        Matcher text = Pattern.compile("\"" + Pattern.quote(name) + "\":\"([^\"\\\\]*)\"").matcher(ready());
        if (!text.find()) {
            throw new IllegalArgumentException("the ready line has no " + name);
        }
        return text.group(1);
    }

    /** Returns the line of JSON that the server printed when it was ready. */
    public synchronized String ready() {
        if (ready == null) {
            Matcher line = READY.matcher(getLogs());
            if (!line.find()) {
                throw new IllegalStateException("the log of the server has no ready line");
            }
            ready = line.group();
        }
        return ready;
    }
}

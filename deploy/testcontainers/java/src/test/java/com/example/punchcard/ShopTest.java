package com.example.punchcard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;
import org.testcontainers.utility.DockerImageName;

class ShopTest {
    static final DockerImageName IMAGE = DockerImageName.parse(System.getenv().getOrDefault("PUNCHCARD_IMAGE", "punchcard:latest"));

    static {
        System.setProperty("jdk.httpclient.allowRestrictedHeaders", "host"); // for the test of hosts
    }

    private final HttpClient http = HttpClient.newHttpClient();

    /** Makes a request and returns the answer. A body makes it a POST; headers are names and values. */
    private HttpResponse<String> send(String url, String body, String... headers) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url));
        if (body != null) {
            request.POST(HttpRequest.BodyPublishers.ofString(body)).header("Content-Type", "application/json");
        }
        for (int i = 0; i + 1 < headers.length; i += 2) {
            request.header(headers[i], headers[i + 1]);
        }
        return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    private String post(String url, String key, String body) throws Exception {
        HttpResponse<String> answer = send(url, body, "Authorization", "Bearer " + key);
        assertTrue(answer.statusCode() < 300, url + ": " + answer.statusCode() + " " + answer.body());
        return answer.body();
    }

    /** Returns the first text with a name in JSON. Use the library that your project has. */
    private static String text(String json, String name) {
        Matcher found = Pattern.compile("\"" + name + "\":\"((?:[^\"\\\\]|\\\\.)*)\"").matcher(json);
        assertTrue(found.find(), name + " is not in " + json);
        return found.group(1).replace("\\\"", "\"").replace("\\\\", "\\");
    }

    /** Fails unless a signature, "t=…,v1=…", is that of a body: the digest of "t.body" with the secret as the key. */
    void verify(String body, String signature, String secret) throws Exception {
        String[] parts = signature.split("[=,]");
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
        byte[] digest = mac.doFinal((parts[1] + "." + body).getBytes(StandardCharsets.UTF_8));
        assertEquals(HexFormat.of().formatHex(digest), parts[3]);
    }

    @Test
    void stampReachesTheWebhook() throws Exception {
        try (PunchcardContainer server = new PunchcardContainer(IMAGE)) {
            server.start();
            String receiver = post(server.origin() + "/dev/receiver", "", "{}"); // in the server itself
            String program = server.url() + "/programs/" + server.program("standard");
            String hook = "{\"url\": \"" + text(receiver, "url") + "\", \"events\": [\"stamp.assigned\"]}";
            String secret = text(post(program + "/webhooks", server.apiKey(), hook), "secret");

            String card = text(post(program + "/cards", server.apiKey(), "{\"holder_name\": \"Ada\"}"), "id");
            String stamped = post(server.tillUrl() + "/cards/" + card + "/stamps", server.tillToken(), "{\"count\": 3}");
            assertTrue(stamped.contains("\"stamps_count\":3"), stamped);

            String got = send(server.origin() + "/dev/receiver/" + text(receiver, "id") + "?wait=1", null).body();
            verify(text(got, "body"), text(got, "X-Service-Signature"), secret);

            String before = send(server.origin() + "/dev/clock", null).body();
            assertTrue(text(post(server.origin() + "/dev/clock", "", "{\"advance\": \"26h\"}"), "now").compareTo(text(before, "now")) > 0);
        }
    }

    @Test
    void answersToTheHostsThatAreAllowed() throws Exception {
        try (PunchcardContainer server = new PunchcardContainer(IMAGE).withAllowedHost("punchcard")) {
            server.start();
            for (String host : new String[] {server.getHost() + ":32768", "punchcard:8080"}) {
                assertEquals(200, send(server.origin() + "/dev/clock", null, "Host", host).statusCode(), host);
            }
            assertEquals(403, send(server.origin() + "/dev/clock", null, "Host", "other:8080").statusCode());
        }
    }

    @Test
    void takesFlags() throws Exception {
        try (PunchcardContainer server = new PunchcardContainer(IMAGE).withFlags("--clock", "2026-03-01T09:00:00Z").withHostPorts(3000)) {
            server.start();
            assertEquals("{\"now\":\"2026-03-01T09:00:00.000Z\"}", send(server.origin() + "/dev/clock", null).body().strip());
            String hook = "{\"url\": \"http://172.17.0.3:3000/hooks\", \"events\": [\"card.added\"]}"; // nothing is sent there
            post(server.url() + "/programs/" + server.program("standard") + "/webhooks", server.apiKey(), hook);
            assertEquals(2, server.locations().size());
            assertTrue(server.value("owner_email").contains("@"));
        }
    }
}

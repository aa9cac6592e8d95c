package org.testcontainers.utility;

/** A stub; see GenericContainer. */
public class DockerImageName {
    public static DockerImageName parse(String name) {
        return new DockerImageName();
    }
}

package org.testcontainers;

/** A stub; see GenericContainer. */
public class Testcontainers {
    public static void exposeHostPorts(int... ports) {}
}

package com.example.punchcard;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.stripe.exception.SignatureVerificationException;
import com.stripe.net.Webhook;

/** Verifies a webhook with Stripe's library. */
class StripeTest extends ShopTest {
    @Override
    void verify(String body, String signature, String secret) throws Exception {
        assertTrue(Webhook.Signature.verifyHeader(body, signature, secret, 300));
        assertThrows(SignatureVerificationException.class, () -> Webhook.Signature.verifyHeader(body, signature, "whsec_other", 300));
    }
}

import { defineConfig } from '@playwright/test';

export default defineConfig({
  reporter: 'line',
  use: { launchOptions: { executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] } },
});

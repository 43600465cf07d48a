export function Logo() {
  return (
    <span className="logo">
      <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden>
        <rect width="32" height="32" rx="8" className="logo-ground" />
        <path d="M8 10h7v5H8zM8 18h7v5H8z" fill="#fff" opacity=".55" />
        <path d="M17 10h7v13h-7z" fill="#fff" />
      </svg>
      <span>Taskyard</span>
    </span>
  );
}
